package untranslated

// Asked tells whether kubectl has wanted its translations, and was given none.
func Asked() bool { return asked }

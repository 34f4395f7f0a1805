package main

import (
	"io"
	"log"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// silenceKlog keeps what client-go logs off standard error: what a user has to
// know is in errors and warnings of ours. It is for the time before a session, and
// for verbs without one. What net/http logs is kept off it too: a server has a say
// in that, and a byte too many on an idle connection is enough.
func silenceKlog() {
	klog.SetLogger(logr.Discard())
	log.SetOutput(io.Discard)
}

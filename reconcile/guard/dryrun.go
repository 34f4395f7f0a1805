package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
)

// makeDry returns a copy of a write that asks for a dry run in every place
// where the API server may look. It has read the body of those requests whose
// body it had to change.
func (g *Guard) makeDry(req *http.Request, r request.Request) (*http.Request, error) {
	out := req.Clone(req.Context())
	if out.Header == nil {
		out.Header = http.Header{}
	}
	query, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("read its query: %w", err)
	}
	query.Set("dryRun", metav1.DryRunAll)
	out.URL.RawQuery = query.Encode()
	if !dryRunInBody(r) {
		return out, nil
	}
	body, err := readBody(req, g.maxBody)
	if err != nil {
		return nil, err
	}
	media := request.MediaType(req.Header)
	if r.Subresource == "eviction" {
		body, media, err = wire.DryEviction(media, body)
	} else {
		body, media, err = wire.DryDeleteOptions(media, body, query)
	}
	if err != nil {
		return nil, err
	}
	setBody(out, media, body)
	return out, nil
}

// dryRunInBody reports whether the API server reads dryRun from the body of
// such a write.
func dryRunInBody(r request.Request) bool {
	return r.Verb == "delete" || r.Verb == "deletecollection" || r.Subresource == "eviction"
}

// proveDry reads a request that is about to leave as the API server will, and
// returns an error unless it is a dry run. It shares no code with makeDry but
// the decoders, which are upstream's.
func (g *Guard) proveDry(out *http.Request) error {
	r := g.classify(out)
	if r.Kind != request.KindWrite || r.Subresource == "token" {
		return fmt.Errorf("it has become a request to %s", r.Verb)
	}
	if !wire.OnlyAll(out.URL.Query()["dryRun"]) {
		return errors.New("its query does not say dryRun=All")
	}
	if !dryRunInBody(r) {
		return nil
	}
	if out.GetBody == nil || len(out.Header.Values("Content-Encoding")) > 0 {
		return errors.New("its body cannot be read again")
	}
	reader, err := out.GetBody()
	if err != nil {
		return err
	}
	body, err := io.ReadAll(reader)
	if err != nil {
		return err
	}
	if int64(len(body)) != out.ContentLength || len(body) == 0 {
		return errors.New("its length is not that of its body")
	}
	var dryRun []string
	if r.Subresource == "eviction" {
		eviction, err := wire.DecodeEviction(request.MediaType(out.Header), body)
		if err != nil {
			return err
		}
		if eviction.DeleteOptions != nil {
			dryRun = eviction.DeleteOptions.DryRun
		}
	} else {
		options, err := wire.DecodeDeleteOptions(request.MediaType(out.Header), body)
		if err != nil {
			return err
		}
		dryRun = options.DryRun
	}
	if !wire.OnlyAll(dryRun) {
		return errors.New("its body does not say dryRun: [All]")
	}
	return nil
}

// errTooLarge is answered with 413, as by the API server.
var errTooLarge = errors.New("the body is larger than the API server takes")

// readBody reads and closes the body of a request. A body in another encoding
// than its own is not read.
func readBody(req *http.Request, limit int64) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer func() { _ = req.Body.Close() }()
	if encoding := req.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, fmt.Errorf("its body is encoded as %s, which the guard does not read", encoding)
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read its body: %w", err)
	}
	if int64(len(body)) > limit {
		return nil, errTooLarge
	}
	return body, nil
}

// setBody gives a request another body. GetBody is part of it: net/http sends
// what that returns when it has to repeat a request on a new connection.
func setBody(out *http.Request, media string, body []byte) {
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.Body, _ = out.GetBody()
	out.ContentLength = int64(len(body))
	out.TransferEncoding, out.Trailer = nil, nil
	for name := range out.Header {
		switch strings.ToLower(name) {
		case "content-type", "content-length", "content-encoding", "transfer-encoding":
			delete(out.Header, name)
		}
	}
	out.Header.Set("Content-Type", media)
}

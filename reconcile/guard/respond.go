package guard

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
)

// Respond makes a response of this process, a Local's among them: JSON, complete, with
// the request that client-go looks at.
func Respond(req *http.Request, code int, body any) (*http.Response, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status:     strconv.Itoa(code) + " " + http.StatusText(code),
		StatusCode: code,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type":   {wire.JSON},
			"Content-Length": {strconv.Itoa(len(encoded))},
		},
		Body:          io.NopCloser(bytes.NewReader(encoded)),
		ContentLength: int64(len(encoded)),
		Request:       req,
	}, nil
}

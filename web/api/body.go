package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/danielgtaylor/huma/v2/validation"
)

// limitBody refuses bodies over maxBody, whoever reads them.
func (s *server) limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > maxBody {
			tooLarge().write(w)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// readBody reads, parses and checks a request's body, and remembers its hash for the Idempotency-Key.
func (s *server) readBody(ctx huma.Context, next func(huma.Context)) {
	r, w := humachi.Unwrap(ctx)
	raw, p := readAll(r)
	if p == nil {
		p = s.checkBody(ctx.Operation(), r, raw)
	}
	if p != nil {
		s.refuse(w, r, p)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	r.Header.Set("Content-Type", "application/json") // however it was spelled
	next(ctx)
}

func readAll(r *http.Request) ([]byte, *problem) {
	raw, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge()
	case err != nil:
		return nil, malformed("The body could not be read to its end.").because(err)
	}
	return raw, nil
}

func (s *server) checkBody(op *huma.Operation, r *http.Request, raw []byte) *problem {
	info := requestOf(r.Context())
	if op.RequestBody == nil {
		return noBody(raw)
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return malformed("The Content-Type must be application/json.")
	}
	value, err := parseJSON(raw)
	if err != nil {
		return malformed("The body is not JSON: " + err.Error() + ".")
	}
	if p := s.validate(op.RequestBody.Content["application/json"].Schema, value); p != nil {
		return p
	}
	canonical, err := json.Marshal(value)
	if err != nil {
		return malformed("The body could not be read.").because(err)
	}
	info.body = sha256.Sum256(canonical)
	return nil
}

// noBody takes what clients send when there is nothing to say.
func noBody(raw []byte) *problem {
	if text := string(bytes.TrimSpace(raw)); text != "" && text != "{}" {
		return invalidRequest(where{Location: "body", Message: "this request has no body"})
	}
	return nil
}

// parseJSON decodes exactly one JSON value in UTF-8. A member that comes twice is refused: what it means
// would depend on the reader.
func parseJSON(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("it is not UTF-8")
	}
	if !json.Valid(raw) {
		return nil, errors.New("it is incomplete, or something stands where nothing of the kind may")
	}
	if err := noRepeats(json.NewDecoder(bytes.NewReader(raw))); err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, errors.New("it can't be decoded")
	}
	return value, nil
}

// noRepeats walks a valid document and refuses an object with a member that comes twice.
func noRepeats(d *json.Decoder) error {
	d.UseNumber()
	type level struct {
		object bool
		name   bool // the next token is a member's name
		seen   map[string]bool
	}
	var levels []level
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.New("it can't be decoded")
		}
		top := len(levels) - 1
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			levels = levels[:top]
			continue
		}
		if top >= 0 && levels[top].object {
			if levels[top].name {
				name, _ := token.(string)
				if levels[top].seen[name] {
					return fmt.Errorf("the member %.40q comes twice", name)
				}
				levels[top].seen[name] = true
				levels[top].name = false
				continue
			}
			levels[top].name = true
		}
		if delim, ok := token.(json.Delim); ok {
			levels = append(levels, level{object: delim == '{', name: delim == '{', seen: map[string]bool{}})
		}
	}
}

// validate holds a decoded body against its schema: one of another JSON type is malformed, anything
// else that is wrong with it invalid.
func (s *server) validate(schema *huma.Schema, value any) *problem {
	registry := s.huma.OpenAPI().Components.Schemas
	for schema.Ref != "" {
		schema = registry.SchemaFromRef(schema.Ref)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return malformed("The body must be a JSON object.")
	}
	errs := unknownMembers(schema, object)
	if len(errs) > 0 {
		return invalidRequest(errs...)
	}
	result := &huma.ValidateResult{}
	huma.Validate(registry, schema, huma.NewPathBuffer([]byte("body"), 4), huma.ModeWriteToServer, value, result)
	if len(result.Errors) == 0 {
		return nil
	}
	errs = wheres(result.Errors)
	if slices.ContainsFunc(errs, func(e where) bool { return typeMismatch(e.Message) }) {
		return malformed("A part of the body has another JSON type than the one asked for.").with("errors", errs)
	}
	return invalidRequest(errs...)
}

// unknownMembers are those that the schema doesn't have, spelled exactly so.
func unknownMembers(schema *huma.Schema, object map[string]any) []where {
	var errs []where
	for name := range object {
		if _, ok := schema.Properties[name]; !ok {
			errs = append(errs, where{Location: "body", Message: fmt.Sprintf("unknown field %.40q", name)})
		}
	}
	slices.SortFunc(errs, func(a, b where) int { return strings.Compare(a.Message, b.Message) })
	return errs
}

func typeMismatch(message string) bool {
	switch message {
	case validation.MsgExpectedString, validation.MsgExpectedArray, validation.MsgExpectedObject,
		validation.MsgExpectedBoolean, validation.MsgExpectedNumber, validation.MsgExpectedInteger:
		return true
	}
	return false
}

// maxWheres is how many errors of one request are told.
const maxWheres = 20

// wheres are a validation's errors as clients get them: without the values, which they know.
func wheres(errs []error) []where {
	out := make([]where, 0, min(len(errs), maxWheres))
	for _, err := range errs {
		if len(out) == maxWheres {
			break
		}
		var detailer huma.ErrorDetailer
		if errors.As(err, &detailer) {
			detail := detailer.ErrorDetail()
			out = append(out, where{Location: detail.Location, Message: detail.Message})
			continue
		}
		out = append(out, where{Location: "request", Message: "invalid"})
	}
	return out
}

package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
)

// cookieName is the session cookie's; hostCookieName is it over TLS, where browsers then hold it to our host.
const (
	cookieName     = "aisle_session"
	hostCookieName = "__Host-" + cookieName
)

// maxKey is the most characters of an Idempotency-Key.
const maxKey = 255

// register describes and serves every operation.
func (s *server) register(r chi.Router) {
	s.huma = humachi.New(r, s.humaConfig())
	s.registerSessions()
	s.registerShowings()
	s.registerBookings()
	s.describeLive()
	s.tidySchemas()
	document := newFile("openapi.json", s.document())
	r.Get("/openapi.json", document.write)
}

func (s *server) humaConfig() huma.Config {
	config := huma.DefaultConfig("Aisle", s.cfg.Version)
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil                         // no $schema in bodies
	config.AllowAdditionalPropertiesByDefault = true // answers may gain members; requests say otherwise
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.Servers = []*huma.Server{{URL: basePath}}
	config.Info.Description = "A box office for cinemas. Every POST and DELETE but `POST /sessions` needs an Idempotency-Key; " +
		"errors are RFC 9457 problems, each explained at its type's address."
	config.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer", Description: "The token of POST /sessions."},
		"cookie": {Type: "apiKey", In: "cookie", Name: cookieName, Description: "Named " + hostCookieName + " over TLS."},
	}
	config.Transformers = []huma.Transformer{s.transform}
	return config
}

// tidySchemas leaves out huma's own shape of errors, which never leaves the server, and the permission of
// additions, which is what saying nothing means: generators make types without a hold of it.
func (s *server) tidySchemas() {
	schemas := s.huma.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	for _, schema := range schemas {
		if schema.AdditionalProperties == true {
			schema.AdditionalProperties = nil
		}
	}
}

// schemaName is a type's name for clients: that of the thing, not of its encoding.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	return strings.TrimSuffix(strings.TrimSuffix(name, "JSON"), "Body")
}

// transform turns the errors that huma makes by itself into problems.
func (s *server) transform(_ huma.Context, _ string, v any) (any, error) {
	if model, ok := v.(*huma.ErrorModel); ok {
		return humaProblem(model), nil
	}
	return v, nil
}

func humaProblem(model *huma.ErrorModel) *problem {
	errs := make([]error, len(model.Errors))
	for i, detail := range model.Errors {
		errs[i] = detail
	}
	switch {
	case model.Status == http.StatusUnprocessableEntity:
		return invalidRequest(wheres(errs)...)
	case model.Status < http.StatusInternalServerError:
		p := malformed("The request could not be read.")
		p.status = model.Status
		return p
	}
	return problemOf(model)
}

// operation describes one call, and serve registers it. Errors of the handler are mapped, logged when they are
// ours, and written.
func serve[I, O any](s *server, op huma.Operation, errs []kind, handler func(context.Context, *I) (*O, error)) {
	op.SkipValidateParams = true // ids that are none are simply not found; the rest is checked by its handler
	op.SkipValidateBody = true   // readBody has done it
	op.MaxBodyBytes = -1         // limitBody has done it
	op.BodyReadTimeout = -1      // the body is in memory
	op.Middlewares = append(huma.Middlewares{s.knownQuery}, op.Middlewares...)
	op.Middlewares = append(op.Middlewares, s.readBody)
	s.describeErrors(&op, errs)
	huma.Register(s.huma, op, func(ctx context.Context, input *I) (*O, error) {
		out, err := handler(ctx, input)
		if err != nil {
			p := problemOf(err)
			if op.Method == http.MethodGet {
				p = problemOfRead(err)
			}
			s.logProblem(ctx, p)
			return nil, p
		}
		return out, nil
	})
}

// knownQuery refuses parameters that the operation doesn't have: a misspelled one would be ignored unseen.
func (s *server) knownQuery(ctx huma.Context, next func(huma.Context)) {
	u := ctx.URL()
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		s.refuseContext(ctx, malformed("The query can't be read."))
		return
	}
	known := map[string]bool{}
	for _, param := range ctx.Operation().Parameters {
		if param.In == "query" {
			known[param.Name] = true
		}
	}
	for name := range values {
		if !known[name] {
			s.refuseContext(ctx, invalidRequest(where{Location: "query", Message: "unknown parameter " + strconv.QuoteToASCII(name[:min(len(name), 40)])}))
			return
		}
	}
	next(ctx)
}

// commandKey takes the Idempotency-Key and names the route.
func (s *server) commandKey(ctx huma.Context, next func(huma.Context)) {
	r, w := humachi.Unwrap(ctx)
	values := r.Header.Values("Idempotency-Key")
	if len(values) != 1 || !validKey(values[0]) {
		s.refuse(w, r, invalidRequest(where{
			Location: "header.Idempotency-Key",
			Message:  "expected exactly one key of 1–255 printable characters",
		}))
		return
	}
	info := requestOf(r.Context())
	info.key = values[0]
	info.route = r.Method + " " + canonicalPath(r.URL.Path)
	info.body = sha256.Sum256(nil)
	next(ctx)
}

func validKey(key string) bool {
	if !utf8.ValidString(key) || strings.TrimSpace(key) == "" || utf8.RuneCountInString(key) > maxKey {
		return false
	}
	return strings.IndexFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// canonicalPath writes the ids in a path in lower case, as they are kept.
func canonicalPath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if id, ok := parseID(part); ok {
			parts[i] = id.String()
		}
	}
	return strings.Join(parts, "/")
}

// parseID reads an id in the one form that we write, in either case.
func parseID(text string) (uuid.UUID, bool) {
	if len(text) != len(uuid.Nil.String()) {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// refuse answers with a problem before a handler was reached.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, p *problem) {
	s.logProblem(r.Context(), p)
	p.write(w)
}

func (s *server) refuseContext(ctx huma.Context, p *problem) {
	r, w := humachi.Unwrap(ctx)
	s.refuse(w, r, p)
}

// logProblem logs what an operator should know: that we failed, and why.
func (s *server) logProblem(ctx context.Context, p *problem) {
	if p.cause == nil || p.status < http.StatusInternalServerError || errors.Is(ctx.Err(), context.Canceled) {
		return // nobody is there to be told, or nothing of ours is wrong
	}
	s.cfg.Logger.WarnContext(ctx, "a request failed", slog.String("request", requestOf(ctx).id),
		slog.String("problem", p.slug), slog.Any("error", p.cause))
}

// problemBody is a problem as the OpenAPI document describes it.
type problemBody struct {
	Type     string        `json:"type" example:"/problems/not-found" doc:"The kind of problem; the page at this address explains it."`
	Title    string        `json:"title"`
	Status   int           `json:"status"`
	Detail   string        `json:"detail"`
	Errors   []where       `json:"errors,omitempty" nullable:"false" doc:"Where and why: unknown-seat, too-many-seats, invalid-request, malformed."`
	Seats    []seatProblem `json:"seats,omitempty" nullable:"false" doc:"The seats that someone else has: seats-unavailable."`
	State    string        `json:"state,omitempty" enum:"held,confirmed,released,expired,refunded" doc:"The booking's state: booking-not-held."`
	Booking  *bookingJSON  `json:"booking,omitempty" doc:"The hold that the session has: booking-exists."`
	OpensAt  string        `json:"opens_at,omitempty" format:"date-time" doc:"sales-closed."`
	ClosesAt string        `json:"closes_at,omitempty" format:"date-time" doc:"sales-closed."`
}

// describeErrors lists the problems that an operation may answer with, by status.
func (s *server) describeErrors(op *huma.Operation, errs []kind) {
	errs = append(errs, kindTooLarge, kindInternal)
	schema := s.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problemBody](), true, "Problem")
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	for _, k := range errs {
		status := strconv.Itoa(k.status)
		response := op.Responses[status]
		if response == nil {
			response = &huma.Response{Content: map[string]*huma.MediaType{"application/problem+json": {Schema: schema}}}
			op.Responses[status] = response
		} else {
			response.Description += ", "
		}
		response.Description += k.slug
		if retries(k) {
			response.Headers = map[string]*huma.Param{"Retry-After": {
				Description: "When to come back, in seconds.", Schema: &huma.Schema{Type: huma.TypeInteger},
			}}
		}
	}
}

func retries(k kind) bool {
	return k.status == http.StatusTooManyRequests || k.status == http.StatusServiceUnavailable || k.slug == kindInFlight.slug
}

// document is the OpenAPI document, indented, with a newline at its end.
func (s *server) document() []byte {
	document, err := json.MarshalIndent(s.huma.OpenAPI(), "", "  ")
	if err != nil {
		panic(err) // made of our own types only; the tests would not pass
	}
	return append(document, '\n')
}

// Document is the OpenAPI 3.1 document of the API, as served at /api/v1/openapi.json.
func Document(version string) ([]byte, error) {
	s, err := newServer(Config{Version: version}.WithDefaults(), Deps{})
	if err != nil {
		return nil, err
	}
	s.routes()
	return s.document(), nil
}

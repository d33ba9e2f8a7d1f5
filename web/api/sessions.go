package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/web/auth"
)

// cookieAge is how long a browser keeps the cookie, in seconds: as long as browsers may, since what ends a
// session is the server's word.
const cookieAge = 400 * 24 * 60 * 60

// Key is the header that every command has.
type Key struct {
	Key string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"255" doc:"1–255 printable characters, a new one for each command; the same one to repeat it."`
}

type sessionJSON struct {
	Session uuid.UUID `json:"session" format:"uuid"`
	Token   string    `json:"token" doc:"Who has it is the customer. It can't be told again."`
}

type startOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie" doc:"The session, for browsers."`
	Cache     string      `header:"Cache-Control" hidden:"true"`
	Body      sessionJSON
}

type endOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie" doc:"Removes the cookie."`
}

func (s *server) registerSessions() {
	serve(s, huma.Operation{
		OperationID: "start-session", Method: http.MethodPost, Path: "/sessions", DefaultStatus: http.StatusCreated,
		Summary: "Start a session", Tags: []string{"Sessions"}, Middlewares: huma.Middlewares{s.sameOrigin, s.limitStarts},
	}, []kind{kindInvalid, kindCrossOrigin, kindRateLimited, kindUnavailable}, s.startSession)
	serve(s, huma.Operation{
		OperationID: "end-session", Method: http.MethodDelete, Path: "/sessions/current",
		DefaultStatus: http.StatusNoContent, Summary: "End the session; its sockets close", Tags: []string{"Sessions"},
		Middlewares: huma.Middlewares{s.sameOrigin, s.mayHaveEnded, s.commandKey}, Security: sessionSecurity(),
	}, []kind{kindUnauthenticated, kindCrossOrigin, kindInvalid, kindMismatch, kindRateLimited, kindUnavailable}, s.endSession)
}

func (s *server) startSession(ctx context.Context, _ *struct{}) (*startOutput, error) {
	session, token, err := s.deps.Sessions.Start(ctx)
	if err != nil {
		return nil, err
	}
	return &startOutput{
		SetCookie: s.cookie(ctx, token, cookieAge), Cache: "no-store",
		Body: sessionJSON{Session: session.ID, Token: token},
	}, nil
}

// endSession ends the session that the request has a token of; repeated with the same key it says so again.
func (s *server) endSession(ctx context.Context, _ *struct{ Key }) (*endOutput, error) {
	info := requestOf(ctx)
	if info.session != uuid.Nil {
		used, err := s.deps.KeyUsed(ctx, info.session, info.key)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", booking.ErrUnavailable, err)
		}
		if used {
			return nil, keyMismatch()
		}
	}
	session, err := s.deps.Sessions.End(ctx, info.token, info.key)
	if err != nil {
		return nil, err
	}
	s.deps.Live.EndSession(session.ID)
	return &endOutput{SetCookie: s.cookie(ctx, "", -1)}, nil
}

// cookie is the session cookie as this request's client must get it.
func (s *server) cookie(ctx context.Context, token string, age int) http.Cookie {
	cookie := http.Cookie{ //nolint:gosec // Secure follows below, where the client came by TLS
		Name: cookieName, Value: token, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if requestOf(ctx).https {
		cookie.Name, cookie.Secure = hostCookieName, true
	}
	return cookie
}

// bearer is the request's token, if it has the header; ok says that it has.
func bearer(r *http.Request) (token string, ok bool) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return "", true // something that is no token of ours
	}
	return strings.TrimSpace(token), true
}

// cookieToken is the token in the session cookie. Over TLS only the __Host- one counts: no neighbour in the
// domain can have set that.
func cookieToken(r *http.Request) string {
	name := cookieName
	if requestOf(r.Context()).https {
		name = hostCookieName
	}
	if cookie, err := r.Cookie(name); err == nil {
		return cookie.Value
	}
	return ""
}

// token is what a request says its session is: a Bearer header before a cookie.
func token(r *http.Request) string {
	if token, ok := bearer(r); ok {
		return token
	}
	return cookieToken(r)
}

// lookup finds a token's session, and keeps those who try many from asking the database about each.
func (s *server) lookup(r *http.Request, token string) (auth.Session, *problem) {
	info := requestOf(r.Context())
	if !s.deps.Sessions.Known(token) {
		if wait := s.triedOut(info); wait > 0 {
			return auth.Session{}, rateLimited(wait)
		}
	}
	session, err := s.deps.Sessions.Lookup(r.Context(), token)
	if errors.Is(err, auth.ErrUnknown) && limitable(info.address) {
		s.unknown.take(line(info.address))
	}
	if err != nil {
		return auth.Session{}, problemOf(err)
	}
	return session, nil
}

// triedOut is how long an address that has sent too many unknown tokens has to wait.
func (s *server) triedOut(info *request) time.Duration {
	if !limitable(info.address) {
		return 0
	}
	return s.unknown.empty(line(info.address))
}

// authenticate refuses a request without a session.
func (s *server) authenticate(ctx huma.Context, next func(huma.Context)) {
	r, w := humachi.Unwrap(ctx)
	text := token(r)
	if text == "" {
		s.refuse(w, r, unauthenticated())
		return
	}
	session, p := s.lookup(r, text)
	if p != nil {
		s.refuse(w, r, p)
		return
	}
	info := requestOf(r.Context())
	info.token, info.session = text, session.ID
	w.Header().Set("Cache-Control", "no-store")
	next(ctx)
}

// mayHaveEnded is authenticate for the request that ends a session: repeated, it finds the session ended, and
// whether it was this request that ended it is for Sessions.End to say.
func (s *server) mayHaveEnded(ctx huma.Context, next func(huma.Context)) {
	r, w := humachi.Unwrap(ctx)
	text := token(r)
	if text == "" {
		s.refuse(w, r, unauthenticated())
		return
	}
	info := requestOf(r.Context())
	session, p := s.lookup(r, text)
	if p != nil && p.slug == kindUnauthenticated.slug {
		p = nil
		if wait := s.triedOut(info); wait > 0 {
			p = rateLimited(wait)
		}
	}
	if p != nil {
		s.refuse(w, r, p)
		return
	}
	info.token, info.session = text, session.ID
	next(ctx)
}

// sameOrigin keeps the pages of other sites from acting with a customer's cookie. A request with an
// Authorization header uses no cookie.
func (s *server) sameOrigin(ctx huma.Context, next func(huma.Context)) {
	r, w := humachi.Unwrap(ctx)
	if _, ok := bearer(r); !ok && s.origins.check(r) != nil {
		s.refuse(w, r, crossOrigin())
		return
	}
	next(ctx)
}

// limitStarts limits the sessions that an address starts.
func (s *server) limitStarts(ctx huma.Context, next func(huma.Context)) {
	r, w := humachi.Unwrap(ctx)
	if address := requestOf(r.Context()).address; limitable(address) {
		if wait := s.starts.take(line(address)); wait > 0 {
			s.refuse(w, r, rateLimited(wait))
			return
		}
	}
	next(ctx)
}

// limitCommands limits the commands of a session.
func (s *server) limitCommands(ctx huma.Context, next func(huma.Context)) {
	r, w := humachi.Unwrap(ctx)
	if wait := s.commands.take(requestOf(r.Context()).session.String()); wait > 0 {
		s.refuse(w, r, rateLimited(wait))
		return
	}
	next(ctx)
}

// sessionSecurity says in the OpenAPI document that an operation takes either proof of a session.
func sessionSecurity() []map[string][]string {
	return []map[string][]string{{"bearer": {}}, {"cookie": {}}}
}

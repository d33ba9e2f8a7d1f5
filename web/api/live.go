package api

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/aislehq/aisle/realtime"
)

// live opens the live socket. A browser's cookie counts only when one of the pages we allow asks; a Bearer
// header always, and then it must be right.
func (s *server) live(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) {
		s.refuse(w, r, newProblem(kindUpgrade, "This address takes WebSockets only.").
			header("Upgrade", "websocket").header("Connection", "Upgrade"))
		return
	}
	if !s.origins.Allowed(r) {
		s.refuse(w, r, crossOrigin())
		return
	}
	session, p := s.liveSession(r)
	if p != nil {
		s.refuse(w, r, p)
		return
	}
	client := realtime.Client{Session: session}
	if address := requestOf(r.Context()).address; limitable(address) {
		client.Address = line(address)
	}
	s.deps.Live.Serve(w, r, client)
}

// liveSession is whose bookings the socket carries, if anybody's. A cookie that can't be judged now opens the
// map all the same, without bookings: seeing seats needs no session.
func (s *server) liveSession(r *http.Request) (uuid.UUID, *problem) {
	if token, ok := bearer(r); ok {
		session, p := s.lookup(r, token)
		return session.ID, p
	}
	token := cookieToken(r)
	if token == "" || !s.origins.fromPage(r) {
		return uuid.Nil, nil
	}
	session, p := s.lookup(r, token)
	if p != nil {
		return uuid.Nil, nil //nolint:nilerr // see above
	}
	return session.ID, nil
}

// describeLive puts the socket into the OpenAPI document, which has no words for what is said on it.
func (s *server) describeLive() {
	s.huma.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "live", Method: http.MethodGet, Path: "/live", Tags: []string{"Live"},
		Summary: "The live socket",
		Description: "A WebSocket, subprotocol `aisle.v1`: text frames, one JSON message each. Works without a session; " +
			"with one it also carries the session's own bookings.",
		Security: append([]map[string][]string{{}}, sessionSecurity()...),
		Responses: map[string]*huma.Response{
			"101": {Description: http.StatusText(http.StatusSwitchingProtocols)},
			"401": s.problemResponse(kindUnauthenticated),
			"403": s.problemResponse(kindCrossOrigin),
			"426": s.problemResponse(kindUpgrade),
			"429": s.problemResponse(kindRateLimited),
			"503": s.problemResponse(kindUnavailable),
		},
	})
}

func (s *server) problemResponse(k kind) *huma.Response {
	schema := s.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problemBody](), true, "Problem")
	return &huma.Response{
		Description: k.slug,
		Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: schema}},
	}
}

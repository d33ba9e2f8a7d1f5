package api

import (
	"net/http"
	"net/url"
	"strings"
)

// Origins says which sites' pages may act in a customer's name.
type Origins struct {
	own     string // "" for whatever host is asked for
	allowed map[string]bool
	cross   *http.CrossOriginProtection
}

// NewOrigins returns the origins that cfg allows.
func NewOrigins(cfg Config) (*Origins, error) {
	cfg = cfg.WithDefaults()
	o := &Origins{allowed: map[string]bool{}, cross: http.NewCrossOriginProtection()}
	for _, text := range append([]string{cfg.PublicURL}, cfg.AllowedOrigins...) {
		if text == "" {
			continue
		}
		origin, err := originOf(text)
		if err != nil {
			return nil, err
		}
		if err := o.cross.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
		o.allowed[origin] = true
	}
	if cfg.PublicURL != "" {
		own, err := originOf(cfg.PublicURL)
		if err != nil {
			return nil, err
		}
		o.own = own
	}
	return o, nil
}

// Allowed says whether a live socket may be opened: by a page of our own or of an allowed origin, or by a
// client that is no browser and sends no Origin. "null" and anything odd is refused.
func (o *Origins) Allowed(r *http.Request) bool {
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		return true
	}
	return len(values) == 1 && o.known(values[0], r.Host)
}

// fromPage says that a page we allow sent the request: then, and only then, its cookie counts on a socket.
func (o *Origins) fromPage(r *http.Request) bool {
	return r.Header.Get("Origin") != "" && o.Allowed(r)
}

func (o *Origins) known(origin, host string) bool {
	if o.allowed[strings.ToLower(origin)] {
		return true
	}
	if o.own != "" {
		return false
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, host)
}

// check refuses a command that a page of another site sends with a customer's cookie.
func (o *Origins) check(r *http.Request) error { return o.cross.Check(r) }

// foreign is the request's Origin when it is an allowed one and not that of our own pages.
func (o *Origins) foreign(r *http.Request) (string, bool) {
	origin := r.Header.Get("Origin")
	lower := strings.ToLower(origin)
	if !o.allowed[lower] || lower == o.own {
		return "", false
	}
	return origin, true
}

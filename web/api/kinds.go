package api

import "net/http"

// The kinds of problem. A slug is part of the contract: it never changes its meaning.
//
//nolint:gochecknoglobals // a table of constants
var (
	kindMalformed = kind{
		http.StatusBadRequest, "malformed", "Malformed request",
		"The body is not JSON, is JSON of another type than the one asked for, or its Content-Type is not application/json.",
	}
	kindUnauthenticated = kind{
		http.StatusUnauthorized, "unauthenticated", "No session",
		"The request carries no session, or one that is unknown or has ended. POST /api/v1/sessions starts one.",
	}
	kindCrossOrigin = kind{
		http.StatusForbidden, "cross-origin", "Refused from another site",
		"A page of another site tried to act with a customer's cookie, or to open the live socket, and is not among the allowed origins.",
	}
	kindNotFound = kind{
		http.StatusNotFound, "not-found", "Not found",
		"There is no such thing, or it belongs to someone else.",
	}
	kindMethod = kind{
		http.StatusMethodNotAllowed, "method-not-allowed", "Method not allowed",
		"The address exists, but not for this method. The Allow header has those that it has.",
	}
	kindSeatsUnavailable = kind{
		http.StatusConflict, "seats-unavailable", "Seats unavailable",
		"Someone else has at least one of the wanted seats; none was taken. seats lists each with its status.",
	}
	kindNotHeld = kind{
		http.StatusConflict, "booking-not-held", "Not a hold",
		"The booking's state, given as state, does not allow this: only a hold can be changed, confirmed or released.",
	}
	kindExists = kind{
		http.StatusConflict, "booking-exists", "Already holding",
		"A session has at most one hold for a showing. booking is the one that it has: add seats to it, confirm it or release it.",
	}
	kindSalesClosed = kind{
		http.StatusConflict, "sales-closed", "Not on sale",
		"The showing is on sale from opens_at to closes_at, unless it was cancelled.",
	}
	kindInFlight = kind{
		http.StatusConflict, "request-in-flight", "Request in flight",
		"A request with the same Idempotency-Key is being worked on. Repeat it in a moment with the same key.",
	}
	kindHoldExpired = kind{
		http.StatusGone, "hold-expired", "Hold expired",
		"The hold ran out, by the database's clock. Its seats may still be free: start a new booking.",
	}
	kindTooLarge = kind{
		http.StatusRequestEntityTooLarge, "too-large", "Body too large",
		"A request's body has at most 64 KiB.",
	}
	kindInvalid = kind{
		http.StatusUnprocessableEntity, "invalid-request", "Invalid request",
		"The request can be read but makes no sense as it stands. errors says where and why.",
	}
	kindUnknownSeat = kind{
		http.StatusUnprocessableEntity, "unknown-seat", "Unknown seat",
		"The showing's layout has no such seat. errors says which.",
	}
	kindTooManySeats = kind{
		http.StatusUnprocessableEntity, "too-many-seats", "Too many seats",
		"The booking would have more seats than one may have. errors says how many that is.",
	}
	kindMismatch = kind{
		http.StatusUnprocessableEntity, "idempotency-mismatch", "Idempotency-Key used before",
		"The Idempotency-Key was used for another route or another body. Each new request needs a new key.",
	}
	kindUpgrade = kind{
		http.StatusUpgradeRequired, "upgrade-required", "WebSocket required",
		"The address takes WebSockets, subprotocol aisle.v1, and nothing else.",
	}
	kindRateLimited = kind{
		http.StatusTooManyRequests, "rate-limited", "Too many requests",
		"Wait as long as Retry-After says, in seconds, then repeat the request with the same Idempotency-Key.",
	}
	kindInternal = kind{
		http.StatusInternalServerError, "internal", "Internal error",
		"Something went wrong on our side. X-Request-Id finds it in the server's log.",
	}
	kindUnavailable = kind{
		http.StatusServiceUnavailable, "unavailable", "Unavailable",
		"A store that this needs can't be reached. Nothing was done. Repeat the request after Retry-After, in seconds.",
	}
	kindOutcomeUnknown = kind{
		http.StatusServiceUnavailable, "outcome-unknown", "Outcome unknown",
		"The answer was lost on its way from the log. Repeat the request with the same Idempotency-Key: it does nothing twice.",
	}
)

// kinds lists them in the order of the contract's table.
func kinds() []kind {
	return []kind{
		kindMalformed, kindUnauthenticated, kindCrossOrigin, kindNotFound, kindMethod, kindSeatsUnavailable, kindNotHeld,
		kindHoldExpired, kindExists, kindSalesClosed, kindTooLarge, kindUnknownSeat, kindTooManySeats, kindInvalid,
		kindInFlight, kindMismatch, kindUpgrade, kindRateLimited,
		kindInternal, kindUnavailable, kindOutcomeUnknown,
	}
}

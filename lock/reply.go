package lock

import (
	"fmt"

	"github.com/google/uuid"
)

// decodeAcquire turns what acquire.lua returned into its Go meaning.
func decodeAcquire(reply any) (Held, error) {
	verdict, token, rest, err := decode(reply)
	if err != nil {
		return Held{}, err
	}
	switch {
	case verdict == "held" && len(rest) == 0:
		return Held{Token: token}, nil
	case verdict == "locked" && len(rest) == 1:
		return Held{}, ErrShowingLocked
	case verdict == "nested" && len(rest) == 1:
		return Held{}, fmt.Errorf("%w: %q", ErrTooManyNested, rest[0])
	case verdict == "taken" && len(rest) >= 2 && len(rest)%2 == 0:
		holders := make(map[string]uuid.UUID, len(rest)/2)
		for i := 0; i < len(rest); i += 2 {
			owner, err := uuid.Parse(rest[i+1])
			if err != nil {
				return Held{}, badReply(reply)
			}
			holders[rest[i]] = owner
		}
		return Held{}, &TakenError{Holders: holders, Token: token}
	}
	return Held{}, badReply(reply)
}

// decodeRenew turns what renew.lua returned into its Go meaning.
func decodeRenew(reply any) (Held, error) {
	verdict, token, rest, err := decode(reply)
	if err != nil {
		return Held{}, err
	}
	switch {
	case verdict == "held" && len(rest) == 0:
		return Held{Token: token}, nil
	case verdict == "lost" && len(rest) > 0:
		return Held{}, fmt.Errorf("%w: %q", ErrNotHeld, rest)
	}
	return Held{}, badReply(reply)
}

// decodeRelease turns what release.lua returned into its Go meaning.
func decodeRelease(reply any) error {
	verdict, _, rest, err := decode(reply)
	if err != nil {
		return err
	}
	switch {
	case verdict != "released":
		return badReply(reply)
	case len(rest) > 0:
		return fmt.Errorf("%w: %q", ErrNotHeld, rest)
	}
	return nil
}

// decode splits a script's reply: a verdict, a token, and strings.
func decode(reply any) (verdict string, token int64, rest []string, err error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) < 2 {
		return "", 0, nil, badReply(reply)
	}
	verdict, ok = parts[0].(string)
	if !ok {
		return "", 0, nil, badReply(reply)
	}
	token, ok = parts[1].(int64)
	if !ok || token < 0 {
		return "", 0, nil, badReply(reply)
	}
	rest = make([]string, 0, len(parts)-2)
	for _, part := range parts[2:] {
		text, ok := part.(string)
		if !ok {
			return "", 0, nil, badReply(reply)
		}
		rest = append(rest, text)
	}
	return verdict, token, rest, nil
}

// badReply is also ErrUnavailable: a Redis that answers nonsense is one to go on without.
func badReply(reply any) error {
	return fmt.Errorf("%w: unexpected reply %.200v", ErrUnavailable, reply)
}

package judge_test

import (
	"os"
	"testing"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m, localstack.Postgres|localstack.Redis)) }

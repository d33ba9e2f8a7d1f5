package localstack

// Abandon gives up the directory as a killed owner would, and leaves the stores running.
func Abandon(s *Stack) error { return s.lock.release() }

// PostgresPID is the process number of the postmaster.
func PostgresPID(s *Stack) int { return s.postgres.running.cmd.Process.Pid }

// RunAsStore runs a program as the stores' user.
func RunAsStore(program string, args []string, dir string) (pid int, end func() error, err error) {
	who, err := storeAccount()
	if err != nil {
		return 0, nil, err
	}
	p, err := command{who: who, program: program, args: args, dir: dir, logPath: dir + "/program.log", farewell: 15}.run()
	if err != nil {
		return 0, nil, err
	}
	return p.cmd.Process.Pid, p.kill, nil
}

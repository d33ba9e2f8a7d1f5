-- Whether a commit that was acknowledged survives a crash.
SELECT current_setting('fsync'), current_setting('synchronous_commit')

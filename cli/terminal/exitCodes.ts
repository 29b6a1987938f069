/** How the command ends, for scripts: each number has one meaning, whatever the subcommand. The page of the command line lists them. */
export const exitCodes = {
  done: 0,
  /** The service or this machine could not do it. */
  failed: 1,
  /** The command line, or a file that it names, is wrong. */
  usage: 2,
  /** No service answers, or one of another version. */
  unreachable: 3,
  /** Credentials are missing, wrong, expired, or not enough for this. */
  credentials: 4,
  /** A thing that the command names does not exist. */
  notFound: 5,
  /** The run of the experiment failed or was cancelled, or has not ended where the gate needs its end. */
  runFailed: 6,
  /** A file cannot be read or written. */
  file: 7,
  /** The run has paused by itself, and there is no terminal at which somebody would see it. */
  runPaused: 8,
  /** Every row of the run failed. */
  allRowsFailed: 9,
  /** The gate: quality has dropped. */
  gateFailed: 10,
  /** The gate: too few rows to decide. */
  notEnoughRows: 11,
  /** The gate: there is no such baseline yet, say no run of the series that is approved. */
  noBaseline: 12,
  /** SIGINT, SIGPIPE and SIGTERM, as shells count them: 128 and the signal's number. */
  interrupted: 130,
  brokenPipe: 141,
  terminated: 143,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

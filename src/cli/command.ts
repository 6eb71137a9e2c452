/** What a command has of the world around it. */
export interface CommandContext {
  /** Aborts on SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** One command of the command line. Its module loads fast: what is heavy it imports when it runs. */
export interface Command {
  /** After `obverse `: `import FILE… [options]`. */
  readonly usage: string;
  /** What it does, in paragraphs of short lines. */
  readonly description: string;
  readonly options?: readonly (readonly [flag: string, help: string])[];
  readonly examples?: readonly string[];
  /** Exit status: 0 done, 1 failed. Throws UsageError, ConfigError or OperatorError for main to show. */
  run(args: readonly string[], context: CommandContext): Promise<number>;
}

/** The command line itself is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

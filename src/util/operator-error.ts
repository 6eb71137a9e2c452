/** An error outside of the program that the operator can fix; shown as its message alone, without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
  /**
   * Whether a setting, or a file that it names, is wrong. The exit status is then 2, as for all settings, so that a service
   * manager does not start the node again.
   */
  readonly isOfSettings: boolean;

  /** Whether the cause is gone, so that the program starts again within its process. */
  readonly startsAgain: boolean;

  constructor(message: string, { isOfSettings = false, startsAgain = false } = {}) {
    super(message);
    this.isOfSettings = isOfSettings;
    this.startsAgain = startsAgain;
  }
}

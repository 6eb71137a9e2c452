/** Something outside the program is wrong and the operator can mend it: shown as its message alone, without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

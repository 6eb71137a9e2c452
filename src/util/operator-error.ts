/** An error outside of the program that the operator can fix; shown as its message alone, without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

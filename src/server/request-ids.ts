/** Ids that share all but their last two digits. */
const BLOCK = 36 * 36;
const ENDS = Array.from({ length: BLOCK }, (_, i) => i.toString(36).padStart(2, '0'));

/** Names requests: a random text for each start of a front, and the number of the request. */
export class RequestIds {
  readonly #prefix = Buffer.from(crypto.getRandomValues(new Uint8Array(5))).toString('hex');
  #head = `${this.#prefix}-`;
  #requests = 0;

  next(): string {
    const number = ++this.#requests;
    // Writing the whole number in another base takes longer than most checks of a request.
    if (number % BLOCK === 0) this.#head = `${this.#prefix}-${(number / BLOCK).toString(36)}`;
    return this.#head + ENDS[number % BLOCK]!;
  }
}

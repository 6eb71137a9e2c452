import { walletFail } from './wallet-error.ts';

/** Characters of a label, a comment or a request id; each list that shows them repeats them. */
const MAX_TEXT = 1000;

/** Throws WalletError where a text that the wallet would store is too long; `name` says which. */
export function ensureShortText(name: string, text: string | null): void {
  if (text !== null && text.length > MAX_TEXT)
    walletFail(
      'invalidParameter',
      `Invalid parameter, ${name} has ${text.length} characters; at most ${MAX_TEXT} are allowed`,
    );
}

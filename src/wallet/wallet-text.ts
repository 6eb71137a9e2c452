import { walletFail } from './wallet-error.ts';

/** Maximum length of a label, comment or request id, characters; lists repeat them with every entry. */
const MAX_TEXT = 1000;

/** Throws WalletError where a text to be stored is too long; `name` is the argument's name. */
export function ensureShortText(name: string, text: string | null): void {
  if (text !== null && text.length > MAX_TEXT)
    walletFail(
      'invalidParameter',
      `Invalid parameter, ${name} has ${text.length} characters; at most ${MAX_TEXT} are allowed`,
    );
}

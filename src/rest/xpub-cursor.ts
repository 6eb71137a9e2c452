import { sha256 } from '../crypto/hash-functions.ts';
import { fail } from '../http/errors.ts';
import { boundTo, type PageInput } from '../http/input.ts';
import type { DescriptorInput, DescriptorUsage } from '../queries/descriptor-usage.ts';

const BASE64 = { alphabet: 'base64url', omitPadding: true } as const;
const MAX_CURSOR = 256;
/** A branch has at most 10,000 examined indexes. */
const COUNT_SIZE = 2;

/** A page of a descriptor: its cursor is that of the list, and what it says of the first page is apart. */
export type DescriptorPage = PageInput & Pick<DescriptorInput, 'examined'>;

/**
 * Returns a page with the numbers of examined indexes that its cursor holds. All pages examine the same indexes: were the
 * gap of a later page another one, entries of addresses that it finds could be before the cursor, and would be skipped.
 * Throws `invalid_cursor`.
 */
export function descriptorPage(page: PageInput): DescriptorPage {
  if (page.cursor === null) return { ...page, examined: null };
  const bytes = fromBase64(page.cursor);
  const branches = bytes?.[0] ?? 0;
  const end = 1 + branches * COUNT_SIZE;
  if (!bytes || branches === 0 || bytes.length <= end)
    return fail('invalid_cursor', 'invalid cursor: not issued by this node');
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const examined = Array.from({ length: branches }, (_, branch) => view.getUint16(1 + branch * COUNT_SIZE));
  return { ...page, cursor: bytes.subarray(end).toBase64(BASE64), examined };
}

/** Returns the text of a cursor together with the numbers of examined indexes. */
export function withExamined({ branches }: DescriptorUsage): (cursor: string) => string {
  const head = new Uint8Array(1 + branches.length * COUNT_SIZE);
  head[0] = branches.length;
  const view = new DataView(head.buffer);
  for (const [i, { examined }] of branches.entries()) view.setUint16(1 + i * COUNT_SIZE, examined);
  return (cursor) => Buffer.concat([head, Uint8Array.fromBase64(cursor, BASE64)]).toBase64(BASE64);
}

/**
 * Returns the text that a cursor is bound to: path, filters, descriptor, gap limit and examined indexes. The cursor holds
 * a hash of it, so that no descriptor is in a URL.
 */
export function boundToDescriptor(input: DescriptorInput & PageInput, { watched, branches }: DescriptorUsage): string {
  const set = sha256(new TextEncoder().encode(watched.text)).toHex();
  return `${boundTo(input)} ${set} ${input.gapLimit} ${branches.map(({ examined }) => examined).join(',')}`;
}

function fromBase64(text: string): Uint8Array | null {
  if (text.length > MAX_CURSOR) return null;
  try {
    return Uint8Array.fromBase64(text, BASE64);
  } catch {
    return null;
  }
}

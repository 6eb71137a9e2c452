import type { Descriptor } from '../descriptor/descriptor.ts';
import { WalletError } from '../wallet-error.ts';
import type { OwnedDescriptor } from './owned-descriptor.ts';

/** A descriptor to be added, with its range. */
export interface NewDescriptor {
  readonly descriptor: Descriptor;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly rangeStart: number;
  readonly rangeEnd: number;
  readonly nextIndex: number;
  readonly internal: boolean;
}

/** Returns a descriptor to be added with what is kept of the known one. Throws WalletError where its range is smaller. */
export function widenDescriptor(known: OwnedDescriptor, added: NewDescriptor): NewDescriptor {
  const { rangeStart, rangeEnd, nextIndex } = known.record;
  if (!added.descriptor.isRange) return added;
  if (added.rangeStart > rangeStart || added.rangeEnd < rangeEnd)
    throw new WalletError('invalidParameter', `new range must include current range = [${rangeStart},${rangeEnd - 1}]`);
  // No address is issued twice. While none was issued, the import may begin with a lower one.
  return { ...added, nextIndex: nextIndex === rangeStart ? added.nextIndex : Math.max(nextIndex, added.nextIndex) };
}

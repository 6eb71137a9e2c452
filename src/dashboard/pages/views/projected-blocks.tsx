import { formatCounted, formatFeeRate } from '../display-format.ts';
import { AmountText, Show } from '../parts.tsx';
import type { ComingBlock } from '../replies.ts';
import { useLoad, useShared } from '../state.ts';

const MAX_WEIGHT = 4_000_000;
const MAX_SHOWN = 6;

/** The blocks that would be mined from the mempool now, with their fee rates; live. */
export function ProjectedBlocks() {
  const { projected, mempoolVersion } = useShared();
  const requested = useLoad<readonly ComingBlock[]>(projected ? null : '/api/mempool/blocks', mempoolVersion);
  return (
    <Show of={projected ? { value: projected, failure: null } : requested}>{(blocks) => <Blocks of={blocks} />}</Show>
  );
}

function Blocks({ of }: { of: readonly ComingBlock[] }) {
  if (of.length === 0)
    return <p class="waiting">The mempool is empty: the next block would have its coinbase alone.</p>;
  return (
    <ol class="projected">
      {of.slice(0, MAX_SHOWN).map((block, i) => (
        // The place in the list is what identifies a coming block.
        <li key={i}>
          <strong>{formatFeeRate(block.medianFeeRate)} sat/vB</strong>
          <span>
            {formatFeeRate(block.feeRange[0] ?? 0)} to {formatFeeRate(block.feeRange.at(-1) ?? 0)}
          </span>
          <meter min={0} max={MAX_WEIGHT} value={block.weight} aria-label="Filled part of the block">
            {Math.round((100 * block.weight) / MAX_WEIGHT)} %
          </meter>
          <span>{formatCounted(block.txCount, 'transaction')}</span>
          <span>
            <AmountText of={block.totalFee} /> fees
          </span>
          <span class="note">{i === 0 ? 'next block' : `in ${i + 1} blocks`}</span>
        </li>
      ))}
    </ol>
  );
}

import { formatBytes, formatCount } from '../display-format.ts';
import { Age, AmountText, HashLink } from '../parts.tsx';
import type { BlockReply } from '../replies.ts';
import { pathTo } from '../router.ts';

/** A row of a table of blocks. What a pruned or not yet stored block lacks is a dash. */
export function BlockRow({ block }: { block: BlockReply }) {
  return (
    <tr>
      <td>
        <a href={pathTo('block', block.hash)}>{formatCount(block.height)}</a>
      </td>
      <td>
        <HashLink page="block" id={block.hash} />
      </td>
      <td>
        <Age of={block.time} />
      </td>
      <td class="number">{block.txCount === null ? '–' : formatCount(block.txCount)}</td>
      <td class="number">{block.size === null ? '–' : formatBytes(block.size)}</td>
      <td class="number">{block.fees === null ? '–' : <AmountText of={block.fees} />}</td>
    </tr>
  );
}

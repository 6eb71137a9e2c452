import * as blockchain from './blockchain-methods.ts';
import * as broadcast from './broadcast-methods.ts';
import * as chainControl from './chain-control-methods.ts';
import * as decode from './decode-methods.ts';
import * as descriptors from './descriptor-methods.ts';
import * as dev from './dev-methods.ts';
import * as fees from './fee-methods.ts';
import * as index from './index-methods.ts';
import * as mempool from './mempool-methods.ts';
import { nodeMethod, type RpcMethod, usage } from './method.ts';
import * as mining from './mining-methods.ts';
import * as network from './network-methods.ts';
import * as node from './node-methods.ts';
import { optional, text } from './params.ts';
import * as psbt from './psbt-methods.ts';
import * as rawTransactions from './raw-transaction-methods.ts';
import * as sign from './sign-methods.ts';
import * as util from './util-methods.ts';
import * as wallet from './wallet-methods.ts';

const help = nodeMethod({
  name: 'help',
  category: 'control',
  help: 'All methods, or what one of them does.',
  params: [optional(text('command'), '')],
  result: 'text',
  scope: 'read',
  run: (_env, command) => (command === '' ? listOfMethods() : helpOn(command)),
});

/** Every method by its name. A new one is an export of one of these files. */
export const RPC_METHODS: ReadonlyMap<string, RpcMethod> = new Map(
  [
    blockchain,
    chainControl,
    broadcast,
    dev,
    fees,
    index,
    mempool,
    rawTransactions,
    decode,
    sign,
    psbt,
    mining,
    network,
    node,
    util,
    descriptors,
    wallet,
    { help },
  ]
    .flatMap((exports) => Object.values(exports))
    .filter((value): value is RpcMethod => typeof value === 'object' && 'invoke' in value)
    .map((method) => [method.name, method]),
);

function listOfMethods(): string {
  const groups = Map.groupBy(RPC_METHODS.values(), ({ category }) => category);
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([category, methods]) => {
      const title = category[0]!.toUpperCase() + category.slice(1);
      return [`== ${title} ==`, ...methods.map(usage).sort()].join('\n');
    })
    .join('\n\n');
}

function helpOn(command: string): string {
  const method = RPC_METHODS.get(command);
  return method
    ? `${usage(method)}\n\n${method.help}\n\nResult: ${method.result}.`
    : `help: unknown command: ${command}`;
}

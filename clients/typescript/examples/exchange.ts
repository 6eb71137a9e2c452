// An exchange in small: an address for each customer, deposits that are credited once, withdrawals that are sent once, fee
// bumps and a sweep. Each command may be killed at any point and repeated.
//
//     export URL=http://127.0.0.1:18443 KEY=… LEDGER=exchange.db
//     bun exchange.ts address alice                              prints a new address of a customer
//     bun exchange.ts watch                                      follows deposits until it is ended
//     bun exchange.ts withdraw 4711 alice ADDRESS SATOSHIS       sends a withdrawal, and prints its txid
//     bun exchange.ts bump 4711 FEERATE                          replaces it by one with a higher feerate (satoshis/vB)
//     bun exchange.ts sweep ADDRESS                              sends all coins with the required confirmations
//     bun exchange.ts balances                                   prints the balances of the customers, satoshis
//
// `node exchange.ts …` does the same, from Node 22.18 on. The key needs the scopes read, wallet.read and wallet.spend.
import { coinsOf, ObverseClient } from '../client.ts';
import { watchAddresses, watchDeposits } from '../deposit-watcher.ts';
import { Ledger } from './ledger.ts';

const {
  URL: url = 'http://127.0.0.1:18443',
  KEY: key = '',
  LEDGER = 'exchange.db',
  WALLET: wallet = 'default',
} = process.env;
const TRANSPORT = process.env.TRANSPORT === 'websocket' ? 'websocket' : 'pages';
const CONFIRMATIONS = 3;

const client = new ObverseClient({ url, key });
const ledger = await Ledger.open(LEDGER, CONFIRMATIONS);
const [command = '', ...args] = process.argv.slice(2);
const ended = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ended.abort());

/** The address is watched before the customer learns it, so that no deposit to it can be missed. */
async function issueAddress(customer: string): Promise<string> {
  const address = await client.rpc<string>('getnewaddress', [customer], { wallet });
  ledger.addAddress(address, customer);
  await watchAddresses(client, [address], CONFIRMATIONS);
  return address;
}

/**
 * The ledger is debited first, then the node sends. The request id makes the second step repeatable: the wallet stores it
 * with the payment, and returns the transaction that was sent, or the one that has replaced it.
 */
async function withdraw(id: string, customer: string, to: string, satoshis: number): Promise<string> {
  const { address } = ledger.bookWithdrawal(id, customer, to, satoshis);
  const params = { address, amount: coinsOf(satoshis), request_id: `withdrawal-${id}` };
  const txid = await client.rpc<string>('sendtoaddress', params, { wallet });
  ledger.storeTxid(id, txid);
  return txid;
}

async function bump(id: string, feeRate: number): Promise<string> {
  const stored = ledger.withdrawal(id);
  if (!stored) throw new Error(`there is no withdrawal ${id}`);
  // The transaction that stands for the request now; an earlier bump may have replaced the stored one.
  const current = await withdraw(id, stored.customer, stored.address, stored.satoshis);
  const { txid } = await client.rpc<{ txid: string }>('bumpfee', [current, { fee_rate: feeRate }], { wallet });
  ledger.storeTxid(id, txid);
  return txid;
}

/** Coins with fewer confirmations stay, since their deposits may still leave the chain. */
async function sweep(address: string): Promise<string> {
  const params = { recipients: [address], options: { minconf: CONFIRMATIONS } };
  return (await client.rpc<{ txid: string }>('sendall', params, { wallet })).txid;
}

const [first = '', second = '', third = '', fourth = ''] = args;
switch (command) {
  case 'address':
    console.log(await issueAddress(first));
    break;
  case 'watch':
    await watchDeposits(client, ledger, {
      ...{ signal: ended.signal, transport: TRANSPORT },
      onRetry: (error, pauseMs) => console.error(`again in ${Math.round(pauseMs)} ms: ${error}`),
      onReconcile: (reason) => console.error(`the ledger is compared with the chain: ${reason}`),
    });
    break;
  case 'withdraw':
    console.log(await withdraw(first, second, third, Number(fourth)));
    break;
  case 'bump':
    console.log(await bump(first, Number(second)));
    break;
  case 'sweep':
    console.log(await sweep(first));
    break;
  case 'balances':
    console.log(JSON.stringify(Object.fromEntries(ledger.customers().map((name) => [name, ledger.balance(name)]))));
    break;
  default:
    console.error('commands: address, watch, withdraw, bump, sweep, balances');
    process.exitCode = 2;
}

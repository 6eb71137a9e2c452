import {
  boolean,
  integer,
  number,
  oneOf,
  optionalNumber,
  optionalPath,
  optionalString,
  type Setting,
} from './setting.ts';

const ADDRESS_TYPES = ['legacy', 'p2sh-segwit', 'bech32', 'bech32m'] as const;
const CHANGE_TYPES = ['auto', ...ADDRESS_TYPES] as const;

/** Settings of wallets. */
export const WALLET_SETTINGS = {
  'wallet.enabled': boolean({ fallback: true, help: 'wallets' }),
  'wallet.max': integer({
    fallback: 500,
    min: 1,
    max: 100_000,
    help: 'maximum number of wallets, loaded or not; createwallet and restorewallet fail beyond it',
  }),
  'wallet.directory': optionalPath({
    help: 'existing directory of the wallets, in which each has a directory of its own; by default wallets/ in the directory of the network',
  }),
  'wallet.backupDirectory': optionalPath({
    help: 'existing directory in which relative names of wallet backups begin; by default backups/ in the data directory',
  }),
  'wallet.pathRoot': optionalPath({
    help: 'existing directory within which the names of wallets and of their backups may be paths; by default they are names without a path',
  }),
  'wallet.autocreate': boolean({ fallback: true, help: 'create the wallet "default" on first start' }),
  'wallet.loadAtStart': boolean({
    fallback: true,
    help: 'load the wallets that were loaded with load_on_startup; false: none, until loadwallet is called',
  }),
  'wallet.passphraseFile': optionalPath({
    help: 'file with the passphrase that encrypts the wallet "default" at its creation; mode 600, owned by the node\'s user',
  }),
  'wallet.keypool': integer({
    fallback: 1000,
    min: 1,
    max: 1_000_000,
    help: 'addresses derived beyond the last used one',
  }),
  'wallet.addressType': oneOf(ADDRESS_TYPES, {
    fallback: 'bech32',
    help: 'type of new addresses, unless the caller names one',
  }),
  'wallet.changeType': oneOf(CHANGE_TYPES, {
    fallback: 'auto',
    help: 'type of change addresses; auto resembles the recipients',
  }),
  'wallet.fallbackFee': optionalNumber({
    unit: 'sat/vB',
    help: 'fee rate of sends without fee data, 0 to refuse them; by default 0 on main, and the minimum relay fee rate elsewhere',
  }),
  'wallet.minFeeRate': number({
    fallback: 1,
    max: 10_000,
    unit: 'sat/vB',
    help: 'minimum fee rate of wallet transactions',
  }),
  'wallet.discardFeeRate': number({
    fallback: 10,
    max: 100_000,
    unit: 'sat/vB',
    help: 'change that costs more than its value at this fee rate, or at the lowest estimate below it, goes to the fee',
  }),
  'wallet.consolidateFeeRate': number({
    fallback: 10,
    max: 10_000,
    unit: 'sat/vB',
    help: 'fee rate below which transactions prefer more inputs',
  }),
  'wallet.maxFee': integer({
    fallback: 10_000_000,
    min: 1000,
    max: 2_100_000_000_000_000,
    unit: 'sat',
    help: 'maximum fee of one wallet transaction; a transaction that needs more is refused',
  }),
  'wallet.confirmTarget': integer({
    fallback: 6,
    min: 1,
    max: 1008,
    unit: 'blocks',
    help: 'confirmation target of fee estimates, unless the caller names one',
  }),
  'wallet.replaceable': boolean({
    fallback: true,
    help: 'signal replaceability (BIP-125), unless the caller decides',
  }),
  'wallet.avoidPartialSpends': boolean({ fallback: false, help: 'spend all coins of an address together' }),
  'wallet.avoidPartialSpendsMaxFee': integer({
    fallback: 0,
    min: -1,
    max: 2_100_000_000_000_000,
    unit: 'sat',
    help: 'additional fee for which a transaction avoids partial spends anyway; -1 for never',
  }),
  'wallet.spendUnconfirmedChange': boolean({
    fallback: true,
    help: "spend the wallet's own unconfirmed change, and count it as trusted",
  }),
  'wallet.rejectLongChains': boolean({
    fallback: true,
    help: 'refuse to create transactions that exceed the limits of the mempool',
  }),
  'wallet.maxAncestors': integer({
    fallback: 25,
    max: 10_000,
    help: 'unconfirmed ancestors of coins that coin selection prefers',
  }),
  'wallet.maxDescendants': integer({
    fallback: 25,
    max: 10_000,
    help: 'transactions in the cluster of a coin that coin selection prefers',
  }),
  'wallet.signer': optionalString({
    allowed: 'a program and its first arguments, separated by blanks, or empty for none',
    help: 'program of external signers such as HWI, which is run without a shell',
  }),
  'wallet.broadcast': boolean({
    fallback: true,
    help: 'submit wallet transactions to the mempool; otherwise they stay in the wallet until they are submitted',
  }),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

import { anyOf, arr, bool, hashStr, hexStr, int, maybe, nil, num, obj, str, unixTime } from '../../engine/schema.ts';

const coinsAsText = str('coins');
const satoshis = int('satoshis');
const strOrNull = anyOf(str(), nil());

/** Schema of the listing record. */
export const LISTING_RESULT = obj({
  schema: int('version of this record'),
  name: str(),
  symbol: str(),
  decimals: int(),
  unit: obj({ name: str(), baseName: str(), basePerCoin: int() }),
  network: str(),
  isTestnet: bool(),
  genesisHash: hashStr(),
  genesisTime: unixTime(),
  networkMagic: hexStr(),
  consensus: obj({
    type: str(),
    algorithm: str(),
    targetBlockTime: int('seconds'),
    retargetInterval: int('blocks'),
    maxBlockWeight: int(),
    coinbaseMaturity: int('blocks'),
  }),
  supply: obj({
    max: coinsAsText,
    maxBase: satoshis,
    issued: coinsAsText,
    issuedBase: satoshis,
    circulating: coinsAsText,
    circulatingBase: satoshis,
    unspendable: coinsAsText,
    unspendableBase: satoshis,
    height: int(),
    blockHash: hashStr(),
    time: unixTime(),
  }),
  emission: obj({
    initialSubsidy: coinsAsText,
    currentSubsidy: coinsAsText,
    halvingInterval: int('blocks'),
    nextHalvingHeight: int(),
    blocksToHalving: int(),
    estimatedHalvingTime: unixTime(),
  }),
  addresses: obj({
    formats: arr(
      obj({ type: str(), encoding: str(), version: maybe(int('version byte of base58check')), prefix: str() }),
    ),
    bech32Hrp: str(),
    wifPrefix: int(),
    memoRequired: bool(),
  }),
  hd: obj({ slip44: int(), bip32Public: hexStr(), bip32Private: hexStr(), purposes: arr(int()) }),
  ports: obj({ p2p: int(), http: int() }),
  fees: obj({ minRelayFeeRate: num(), incrementalFeeRate: num(), dustRelayFeeRate: num(), unit: str() }),
  confirmations: obj({ deposit: int(), depositLarge: int(), withdrawal: int(), coinbase: int() }),
  software: obj({
    name: str(),
    version: str(),
    userAgent: str(),
    protocolVersion: int(),
    license: strOrNull,
  }),
  links: obj({
    website: strOrNull,
    explorer: strOrNull,
    explorerTx: strOrNull,
    explorerAddress: strOrNull,
    source: strOrNull,
    whitepaper: strOrNull,
    support: strOrNull,
  }),
  endpoints: obj({
    rest: str(),
    rpc: str(),
    websocket: str(),
    health: str(),
    ready: str(),
    metrics: str(),
    openapi: str(),
    circulatingSupply: str(),
    maxSupply: str(),
  }),
  features: obj({ segwit: bool(), taproot: bool(), rbf: bool(), addressIndex: bool(), eventReplay: bool() }),
  status: obj({ height: int(), synced: bool(), tipTime: unixTime() }),
});

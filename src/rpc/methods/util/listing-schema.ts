import { anyOf, arr, bool, hashStr, hexStr, int, maybe, nil, num, obj, str, unixTime } from '../../engine/schema.ts';

const coinsAsText = (note: string) => str(`${note}, coins`);
const satoshis = (note: string) => int(`${note}, satoshis`);
const link = (note: string) => anyOf(str(note), nil('no such page'));
const address = (note: string) => str(`address of ${note}`);

/** Schema of the listing record. */
export const LISTING_RESULT = obj({
  schema: int('version of this record'),
  name: str('name of the coin'),
  symbol: str('ticker symbol of the coin'),
  decimals: int('digits behind the decimal point of an amount in coins'),
  unit: obj(
    {
      name: str('symbol of one coin'),
      baseName: str('name of the base unit'),
      basePerCoin: int('base units of one coin'),
    },
    'the units of amounts',
  ),
  network: str('name of the network'),
  isTestnet: bool('whether coins of the network have no value'),
  genesisHash: hashStr('hash of the first block'),
  genesisTime: unixTime('time of the first block'),
  networkMagic: hexStr('first four bytes of each message between peers'),
  consensus: obj(
    {
      type: str('kind of consensus'),
      algorithm: str('hash function of the proof of work'),
      targetBlockTime: int('seconds'),
      retargetInterval: int('blocks'),
      maxBlockWeight: int('maximum weight of a block (BIP-141)'),
      coinbaseMaturity: int('blocks'),
    },
    'consensus rules',
  ),
  supply: obj(
    {
      max: coinsAsText('the most that can ever be issued'),
      maxBase: satoshis('the most that can ever be issued'),
      issued: coinsAsText('subsidies of all blocks up to now'),
      issuedBase: satoshis('subsidies of all blocks up to now'),
      circulating: coinsAsText('value of all coins that can be spent'),
      circulatingBase: satoshis('value of all coins that can be spent'),
      unspendable: coinsAsText('issued and not circulating'),
      unspendableBase: satoshis('issued and not circulating'),
      height: int('height that the supply belongs to'),
      blockHash: hashStr('hash of the block at that height'),
      time: unixTime('time of that block'),
    },
    'supply at the tip',
  ),
  emission: obj(
    {
      initialSubsidy: coinsAsText('subsidy of the first block'),
      currentSubsidy: coinsAsText('subsidy of the next block'),
      halvingInterval: int('blocks'),
      nextHalvingHeight: int('height of the next block with half the subsidy'),
      blocksToHalving: int('blocks until then'),
      estimatedHalvingTime: unixTime('expected time of that block'),
    },
    'issue of new coins',
  ),
  addresses: obj(
    {
      formats: arr(
        obj({
          type: str('kind of output script'),
          encoding: str('base58check, bech32 or bech32m'),
          version: maybe(int('version byte of base58check')),
          prefix: str('text that such an address begins with'),
        }),
        'the kinds of addresses',
      ),
      bech32Hrp: str('human-readable part of bech32 addresses'),
      wifPrefix: int('version byte of private keys'),
      memoRequired: bool('whether a payment needs a memo beside the address'),
    },
    'addresses',
  ),
  hd: obj(
    {
      slip44: int('coin type (SLIP-44)'),
      bip32Public: hexStr('version bytes of extended public keys'),
      bip32Private: hexStr('version bytes of extended private keys'),
      purposes: arr(int(), 'purpose fields of the supported derivation paths'),
    },
    'derivation of keys (BIP-32)',
  ),
  ports: obj({ p2p: int('port of the peer-to-peer protocol'), http: int('port of this interface') }, 'default ports'),
  fees: obj(
    {
      minRelayFeeRate: num('minimum feerate of the mempool when it is not full'),
      incrementalFeeRate: num('feerate by which a replacement must exceed what it replaces'),
      dustRelayFeeRate: num('feerate that decides which outputs are dust'),
      unit: str('unit of these feerates'),
    },
    'relay policy of this node',
  ),
  confirmations: obj(
    {
      deposit: int('for a deposit'),
      depositLarge: int('for a large deposit'),
      withdrawal: int('for a withdrawal'),
      coinbase: int('until the output of a coinbase can be spent'),
    },
    'recommended numbers of confirmations',
  ),
  software: obj(
    {
      name: str('name of the node software'),
      version: str('its version'),
      userAgent: str('name that peers see (BIP-14)'),
      protocolVersion: int('version of the peer-to-peer protocol'),
      license: anyOf(str('licence of the software, as an SPDX identifier'), nil('not stated')),
    },
    'this node',
  ),
  links: obj(
    {
      website: link('address of the website'),
      explorer: link('address of a block explorer'),
      explorerTx: link('address of its page of a transaction'),
      explorerAddress: link('address of its page of an address'),
      source: link('address of the source code'),
      whitepaper: link('address of the paper'),
      support: link('address of the support'),
    },
    'pages about the coin',
  ),
  endpoints: obj(
    {
      rest: address('the REST interface'),
      rpc: address('JSON-RPC'),
      websocket: address('the WebSocket'),
      health: address('the liveness check'),
      ready: address('the readiness check'),
      metrics: address('the metrics'),
      openapi: address('the OpenAPI document'),
      circulatingSupply: address('the circulating supply as text'),
      maxSupply: address('the maximum supply as text'),
    },
    'interfaces of this node; paths if http.publicUrl is not set',
  ),
  features: obj(
    {
      segwit: bool('whether segregated witness is active (BIP-141)'),
      taproot: bool('whether taproot is active (BIP-341)'),
      rbf: bool('whether the mempool replaces transactions by fee'),
      addressIndex: bool('whether histories of addresses are available'),
      eventReplay: bool('whether missed events can be requested again'),
    },
    'features of the network and of this node',
  ),
  status: obj(
    {
      height: int('height of the tip'),
      synced: bool('whether the tip is recent'),
      tipTime: unixTime('time of the tip'),
    },
    'state of this node',
  ),
});

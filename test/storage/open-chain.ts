import { openWriter } from '../../src/storage/chain-database.ts';

// Opens the database given as the first argument, which converts one of an older version.
openWriter(process.argv[2]!, { network: 'regtest', genesisHash: process.argv[3]! }, 16);

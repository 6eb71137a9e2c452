import { cleanUpAfterTests } from '../lib/node-process.ts';
import { NEWEST_FIXTURE, OLDEST_FIXTURE, UPGRADE_FIXTURES } from '../lib/upgrade-fixtures.ts';
import { describeUpgrades } from '../lib/upgrade-suite.ts';

cleanUpAfterTests();

describeUpgrades(UPGRADE_FIXTURES.filter((name) => name !== OLDEST_FIXTURE && name !== NEWEST_FIXTURE));

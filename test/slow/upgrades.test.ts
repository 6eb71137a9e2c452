import { cleanUpAfterTests } from '../lib/node-process.ts';
import { UPGRADE_FIXTURES } from '../lib/upgrade-fixtures.ts';
import { describeUpgrades } from '../lib/upgrade-suite.ts';

cleanUpAfterTests();

describeUpgrades(UPGRADE_FIXTURES);

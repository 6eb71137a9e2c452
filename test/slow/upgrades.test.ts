import { cleanUpAfterTests } from '../lib/node-process.ts';
import { SOME_UPGRADE_FIXTURES } from '../lib/upgrade-fixtures.ts';
import { describeUpgrades } from '../lib/upgrade-suite.ts';

cleanUpAfterTests();

describeUpgrades(SOME_UPGRADE_FIXTURES);

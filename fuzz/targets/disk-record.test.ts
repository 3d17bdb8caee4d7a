import { testTargets } from '../test-targets.ts';
import { targets } from './disk-record.ts';

testTargets(targets);

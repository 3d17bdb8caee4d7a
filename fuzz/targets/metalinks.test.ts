import { testTargets } from '../test-targets.ts';
import { targets } from './metalinks.ts';

testTargets(targets);

import { testTargets } from '../test-targets.ts';
import { targets } from './exnodes.ts';

testTargets(targets);

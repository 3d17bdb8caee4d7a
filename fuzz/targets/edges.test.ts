import { testTargets } from '../test-targets.ts';
import { targets } from './edges.ts';

testTargets(targets);

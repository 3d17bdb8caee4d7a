import { testTargets } from '../test-targets.ts';
import { targets } from './archives.ts';

testTargets(targets);

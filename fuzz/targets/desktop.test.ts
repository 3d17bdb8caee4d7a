import { testTargets } from '../test-targets.ts';
import { targets } from './desktop.ts';

testTargets(targets);

import { testTargets } from '../test-targets.ts';
import { targets } from './kept-downloads.ts';

testTargets(targets);

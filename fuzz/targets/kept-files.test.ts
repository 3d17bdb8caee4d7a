import { testTargets } from '../test-targets.ts';
import { targets } from './kept-files.ts';

testTargets(targets);

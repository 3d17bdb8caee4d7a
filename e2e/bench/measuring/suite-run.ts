/**
 * Runs the public suite of tests for HTTP caches (http-tests/cache-tests) against one cache, in a
 * process of its own, because the suite keeps its state in modules.
 *
 *     node suite-run.ts FOLDER BASE [ID]...
 *
 * Writes one JSON object: results by test, `true` or the reason of a failure, with each test's kind.
 */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

interface SuiteTest {
  readonly id: string;
  readonly kind?: 'required' | 'optimal' | 'check';
  dump?: boolean;
}
interface Suite {
  readonly id: string;
  tests: SuiteTest[];
}

/** Tests at a time: nearly all of their time they wait for answers to become stale. */
const AT_A_TIME = 60;

const [folder = '', base = '', ...ids] = process.argv.slice(2);
const load = (path: string) => import(pathToFileURL(join(folder, path)).href);

const suites = (await load('tests/index.mjs')).default as Suite[];
const { runTests, getResults } = await load('test-engine/client/runner.mjs');
for (const suite of suites) {
  if (ids.length > 0) suite.tests = suite.tests.filter(({ id }) => ids.includes(id));
}
await runTests(suites, false, base, AT_A_TIME);
const results = getResults() as Record<string, true | [string, string]>;
const rows = suites.flatMap(({ id: suite, tests }) =>
  tests.map(({ id, kind = 'required' }) => ({ suite, id, kind, result: results[id] ?? null })),
);
process.stdout.write(`\n${JSON.stringify(rows)}`);

/** Seeds of tests that draw at random. */

/**
 * Returns the seed of tests, and prints it, so that `MILLRACE_TEST_SEED` can repeat their draws.
 *
 * @param what name of the tests, as it is printed
 * @param usual seed unless the variable gives one. Tests whose figures hold for most seeds and not
 *   for each, such as those of models, name one: a draw that fails them says nothing about the code
 */
export function testSeed(what: string, usual = Math.floor(Math.random() * 2 ** 31)): number {
  const seed = Number(process.env.MILLRACE_TEST_SEED ?? usual);
  process.stderr.write(`${what}: MILLRACE_TEST_SEED=${seed}\n`);
  return seed;
}

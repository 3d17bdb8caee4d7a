const common = {
  transform: { '\\.ts$': '<rootDir>/scripts/jest/ts-transform.mjs' },
  extensionsToTreatAsEsm: ['.ts'],
  testEnvironment: '<rootDir>/scripts/jest/test-environment.mjs',
  setupFilesAfterEnv: ['<rootDir>/scripts/jest/byte-equality.mjs'],
};

export default {
  watchman: false,
  testSequencer: '<rootDir>/e2e/fixtures/longest-first.mjs',
  // Long: on a busy machine everything takes longer, and only what hangs takes this long.
  testTimeout: 360_000,
  projects: [
    {
      ...common,
      displayName: 'unit',
      roots: [
        '<rootDir>/shared',
        '<rootDir>/edge',
        '<rootDir>/desktop',
        '<rootDir>/extension',
        '<rootDir>/scripts',
        '<rootDir>/fuzz',
      ],
      testMatch: ['**/*.test.ts'],
    },
    {
      ...common,
      displayName: 'e2e',
      globalSetup: '<rootDir>/e2e/fixtures/global-setup.mjs',
      globalTeardown: '<rootDir>/e2e/fixtures/global-teardown.mjs',
      roots: ['<rootDir>/e2e'],
      testMatch: ['**/specs/**/*.test.ts'],
    },
  ],
};

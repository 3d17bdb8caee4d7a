const common = {
  transform: { '\\.ts$': '<rootDir>/scripts/ts-transform.mjs' },
  extensionsToTreatAsEsm: ['.ts'],
  testEnvironment: 'node',
};

export default {
  watchman: false,
  testTimeout: 60_000,
  maxConcurrency: 8,
  projects: [
    {
      ...common,
      displayName: 'unit',
      roots: ['<rootDir>/shared', '<rootDir>/edge', '<rootDir>/desktop', '<rootDir>/scripts'],
      testMatch: ['**/*.test.ts'],
    },
    {
      ...common,
      displayName: 'e2e',
      globalSetup: '<rootDir>/e2e/fixtures/global-setup.mjs',
      roots: ['<rootDir>/e2e'],
      testMatch: ['**/specs/**/*.test.ts'],
    },
  ],
};

/**
 * Jest environment that makes test files cheap: tests that compute took several times as long in
 * Jest's own, and each file began with 0.15 s of compiling Jest.
 */

import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

const { compileFunction, createContext } = vm;

/** Compiled code of libraries, by file: Jest loads itself anew for each test file. */
const compiled = new Map();

vm.compileFunction = (source, parameters, options = {}) => {
  const known = compiled.get(options.filename);
  if (known?.source === source) {
    return compileFunction(source, parameters, { ...options, cachedData: known.data });
  }
  const made = compileFunction(source, parameters, { ...options, produceCachedData: true });
  compiled.set(options.filename, { source, data: made.cachedData });
  return made;
};

/**
 * Ends a worker of Jest as soon as it has nothing left to do. Node would first take its heap of
 * half a gigabyte apart, object by object. Jest gives a worker half a second, and then says that
 * tests have left something open: if they really have, this event does not come.
 */
process.once('beforeExit', () => process.exit());

/**
 * Gives each test file a realm whose global object is a plain one. Jest's has interceptors, which
 * every use of `Math`, `Map` or `Promise` in a module goes through.
 */
export default class PlainEnvironment extends TestEnvironment {
  constructor(config, context) {
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
  }
}

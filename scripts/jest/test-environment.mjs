/**
 * Jest environment that makes test files cheap: tests that compute took several times as long in
 * Jest's own, and each file began with 0.15 s of compiling Jest.
 */

import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

/** Frames of an error's stack. */
const STACK_FRAMES = 20;

const { compileFunction, createContext, Script } = vm;

/**
 * Scripts of CommonJS modules, by file. Jest loads itself and the libraries of tests anew for each
 * test file; a script is compiled once for all realms, with all functions that any of them calls.
 */
const scripts = new Map();

vm.compileFunction = (source, parameters = [], options = {}) => {
  const { filename, parsingContext, importModuleDynamically, ...others } = options;
  const isOfJest = parsingContext !== undefined && Object.keys(others).length === 0;
  if (!isOfJest) return compileFunction(source, parameters, options);
  let known = scripts.get(filename);
  if (known?.source !== source) {
    known = { source };
    const head = `(function (${parameters.join(',')}) {`;
    known.script = new Script(`${head}${source}\n})`, {
      filename,
      columnOffset: -head.length,
      importModuleDynamically: (...request) => known.importModule(...request),
    });
    scripts.set(filename, known);
  }
  // One test file runs at a time: what a module imports while it runs belongs to that file.
  known.importModule = importModuleDynamically;
  return known.script.runInContext(parsingContext);
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
      // Jest's limit is 100, and tests make errors by the hundred thousand. Most of the time that an
      // error takes goes into the frames of Jest and fast-check at the end of its stack.
      this.global.Error.stackTraceLimit = STACK_FRAMES;
    } finally {
      vm.createContext = createContext;
    }
  }
}

/**
 * Jest environment whose globals are read as fast as those of a program.
 *
 * Jest's own environment gives each test file a global object with interceptors, which every use of
 * `Math`, `Map` or `Promise` in modules goes through. Tests that compute took twice as long. This one
 * makes a plain global object, of a realm of its own as well (`vm.constants.DONT_CONTEXTIFY`).
 */

import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

export default class PlainEnvironment extends TestEnvironment {
  constructor(config, context) {
    const { createContext } = vm;
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
  }
}

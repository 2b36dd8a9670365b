/**
 * Prints the progress every 20 suites, and the result in one last line that a script can read without parsing the table of Jest. Writes
 * `suite-times.json`, in which the slowest suite is first.
 */
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const EVERY = 20;

export default class ProgressReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunStart() {
    this.startedAt = performance.now();
  }

  onTestResult(_test, _result, { testResults, numTotalTestSuites, numPassedTests, numFailedTests }) {
    const done = testResults.length;
    if (done % EVERY !== 0) return;
    const counts = `${done} of ${numTotalTestSuites} suites, ${numPassedTests} tests passed, ${numFailedTests} failed`;
    process.stderr.write(`\n${counts}, ${minutesSince(this.startedAt)}\n\n`);
  }

  onRunComplete(_contexts, results) {
    const { numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites, testResults } = results;
    const seconds = ({ perfStats: { start, end } }) => Math.round((end - start) / 100) / 10;
    const times = testResults.map((suite) => [relative(this.rootDir, suite.testFilePath), seconds(suite)]);
    const slowestFirst = Object.fromEntries(times.toSorted(([, one], [, other]) => other - one));
    writeFileSync(join(this.rootDir, 'suite-times.json'), `${JSON.stringify(slowestFirst, null, 2)}\n`);
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    process.stderr.write(`\n${numPassedTests} passed, ${failed} failed, ${numPendingTests} skipped\n`);
  }
}

function minutesSince(startedAt) {
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Plugin } from 'vite'

const run = promisify(execFile)

// The API browser is used as its publisher bundled it: one script, one style sheet. As a
// dependency it would bring 450 packages (1 GB) that nothing here imports, so its archive is
// fetched alone, pinned by version and hash as the lock file would.
const archive = '@stoplight/elements@9.0.25'
const integrity =
  'sha512-rDbNsgSCNo74lyV57cBzym+8F68/R2j7UPq4r3w5qK608vX8APNJhTq+2MkbTjsM3bUhFIoRdI225tlI85KpCA=='
const files = ['web-components.min.js', 'web-components.min.js.LICENSE.txt', 'styles.min.css']

/** docsAssets puts the API browser's files into dist/docs. */
export function docsAssets(): Plugin {
  let outDir = ''
  return {
    name: 'aisle-docs-assets',
    apply: 'build',
    configResolved(config) {
      outDir = join(config.root, config.build.outDir, 'docs')
    },
    async closeBundle() {
      const scratch = await mkdtemp(join(tmpdir(), 'aisle-docs-'))
      try {
        await fetchInto(scratch, outDir)
      } finally {
        await rm(scratch, { recursive: true, force: true })
      }
    },
  }
}

async function fetchInto(scratch: string, outDir: string): Promise<void> {
  const args = ['pack', archive, '--prefer-offline', '--silent', '--pack-destination', scratch]
  const { stdout } = await run('npm', args)
  const packed = join(scratch, stdout.trim())
  const hash = createHash('sha512')
    .update(await readFile(packed))
    .digest('base64')
  if (`sha512-${hash}` !== integrity) {
    throw new Error(`${archive}: the archive's hash is not the one pinned in docs-assets.ts`)
  }
  await mkdir(outDir, { recursive: true })
  const members = files.map((file) => `package/${file}`)
  await run('tar', ['-xzf', packed, '-C', outDir, '--strip-components=1', ...members])
}

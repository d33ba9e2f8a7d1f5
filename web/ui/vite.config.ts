import { writeFile } from 'node:fs/promises'
import { fileURLToPath, URL } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import vue from '@vitejs/plugin-vue'
import { defineConfig, type Plugin } from 'vitest/config'
import { docsAssets } from './docs-assets.ts'

// The Go package embeds dist and needs one committed file in it, which emptying dist removes.
function keepPlaceholder(): Plugin {
  return {
    name: 'aisle-keep-placeholder',
    apply: 'build',
    closeBundle: () => writeFile(new URL('dist/.keep', import.meta.url), ''),
  }
}

const server = process.env.AISLE_DEV_SERVER ?? 'http://127.0.0.1:8080'

export default defineConfig({
  plugins: [vue(), tailwindcss(), docsAssets(), keepPlaceholder()],
  resolve: {
    alias: { '@': fileURLToPath(new URL('src', import.meta.url)) },
  },
  define: {
    __VUE_OPTIONS_API__: false,
    __VUE_I18N_LEGACY_API__: false,
    __VUE_I18N_FULL_INSTALL__: false,
    __INTLIFY_PROD_DEVTOOLS__: false,
  },
  build: {
    // The Content-Security-Policy allows scripts, styles, images and fonts from files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    // The live socket is judged by its Origin, so the proxy presents the server's own.
    proxy: {
      '/api': { target: server, ws: true, changeOrigin: true, headers: { origin: server } },
    },
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
})

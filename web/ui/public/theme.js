// Runs before the first paint, so that nobody sees the other theme flash by. Keep the keys and
// the rules in step with src/store/settings.ts.
;(function () {
  var root = document.documentElement
  function read(key) {
    try {
      return localStorage.getItem(key)
    } catch (_) {
      return null
    }
  }
  var theme = read('aisle-theme')
  if (theme !== 'dark' && theme !== 'light') {
    theme = matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark'
  }
  root.dataset.theme = theme
  var language = read('aisle-language')
  if (language !== 'en' && language !== 'zh-CN') {
    language = /^zh\b/i.test(navigator.language) ? 'zh-CN' : 'en'
  }
  root.lang = language
})()
